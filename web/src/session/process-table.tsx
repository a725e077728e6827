import type { MemberView } from '../../../src/api/http-views.ts';
import { bytes } from '../words/short.ts';

export function ProcessTable({ processes }: { readonly processes: readonly MemberView[] }) {
  if (processes.length === 0) return <p class="dim">No process of it is alive.</p>;
  return (
    <div class="process-table">
      <table>
        <thead>
          <tr>
            <th scope="col">Pid</th>
            <th scope="col">Name</th>
            <th scope="col">Memory</th>
          </tr>
        </thead>
        <tbody>
          {processes.map(({ pid, name, memoryBytes }) => (
            <tr key={pid}>
              <td class="mono">{pid}</td>
              <td class="mono name">{name}</td>
              <td>{memoryBytes === null ? '–' : bytes(memoryBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
