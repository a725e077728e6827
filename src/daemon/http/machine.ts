/** The operations about this machine and about Reeve itself, named as the verbs of the command line that do the same. */
import { z } from '@hono/zod-openapi';
import {
  checkSchema,
  hookReportSchema,
  hookStatusSchema,
  pathsSchema,
  scanSchema,
  shimChangesSchema,
  shimStatesSchema,
} from '../../api/machine-schemas.ts';
import { actedSchema, daemonSchema } from '../../api/schemas.ts';
import { doctor } from '../../supervisor/doctor.ts';
import {
  changeHooksFor,
  hookStatusFor,
  installShimsIn,
  removeShimsFrom,
  shimStatesIn,
} from '../../supervisor/harness-settings.ts';
import { ownBuild } from '../../supervisor/own-program.ts';
import { addOperation } from './operation.ts';
import type { App } from './operation.ts';
import type { Parts } from './parts.ts';

const HOOK_TARGETS = ['claude', 'codex', 'gemini', 'opencode'] as const;
const SHIM_NAMES = [...HOOK_TARGETS, 'code'] as const;

export function addMachine(app: App, parts: Parts): void {
  addItself(app, parts);
  addOtherOwners(app, parts);
  addSettings(app, parts);
}

function addItself(app: App, { context, record }: Parts): void {
  const group = 'Reeve itself';
  addOperation(app, {
    method: 'get',
    path: '/v1/daemon',
    name: 'daemon',
    group,
    says: 'Who answers here.',
    answer: daemonSchema,
    does: async () => {
      const { process: identity, startedAtMs } = record();
      const { home, store, actor } = context;
      return {
        ...ownBuild(),
        pid: identity.pid,
        host: identity.host,
        user: actor,
        home: home.path,
        store: store.engine === 'sqlite' ? store.place : `PostgreSQL at ${store.place}`,
        startedAt: new Date(startedAtMs).toISOString(),
      };
    },
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/doctor',
    name: 'doctor',
    group,
    says: 'Whether the promises can be kept on this machine.',
    answer: z.object({ checks: z.array(checkSchema) }).strict(),
    does: async () => ({ checks: await doctor({ environment: context.environment }) }),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/paths',
    name: 'paths',
    group,
    says: 'Where the state is.',
    answer: pathsSchema,
    does: async () => ({ home: context.home.path, store: context.store.place, runs: context.home.runs }),
  });
}

function addOtherOwners(app: App, { reeve }: Parts): void {
  const group = 'Other owners';
  addOperation(app, {
    method: 'get',
    path: '/v1/scan',
    name: 'scan',
    group,
    says: 'Live harnesses on this machine, whoever started them, and what dead ones left behind.',
    answer: scanSchema,
    does: () => reeve.scan(),
  });
  addOperation(app, {
    method: 'post',
    path: '/v1/adopt',
    name: 'adopt',
    group,
    says: 'Supervise a harness that is running already, without restarting it.',
    body: z.object({ pid: z.int().min(1), session: z.string().max(300).optional() }).strict(),
    answer: actedSchema,
    does: async ({ body: { pid, session } }) => {
      const adopted = await reeve.adopt(pid, { session });
      return reeve.show(adopted.session.id);
    },
  });
}

function addSettings(app: App, { context: { environment } }: Parts): void {
  const group = 'Other owners';
  const hooks = z.object({ harnesses: z.array(z.enum(HOOK_TARGETS)).min(1) }).strict();
  addOperation(app, {
    method: 'get',
    path: '/v1/hooks',
    name: 'hooksStatus',
    group,
    says: 'Whether Reeve’s hooks are in the harnesses’ own settings.',
    answer: z.object({ hooks: z.array(hookStatusSchema) }).strict(),
    does: async () => ({ hooks: HOOK_TARGETS.map((target) => hookStatusFor(target, environment)) }),
  });
  for (const name of ['install', 'remove'] as const) {
    addOperation(app, {
      method: 'post',
      path: `/v1/hooks/${name}`,
      name: `hooks${name === 'install' ? 'Install' : 'Remove'}`,
      group,
      says: `${name === 'install' ? 'Put Reeve’s hooks into' : 'Take Reeve’s hooks out of'} a harness’s own settings.`,
      body: hooks,
      answer: z.object({ hooks: z.array(hookReportSchema) }).strict(),
      does: async ({ body }) => ({ hooks: changeHooksFor(name, body.harnesses, environment) }),
    });
  }
  const shims = z
    .object({
      harnesses: z.array(z.enum(SHIM_NAMES)).min(1),
      dir: z.string().max(4096).regex(/^\//, 'must be an absolute directory').optional(),
    })
    .strict();
  addOperation(app, {
    method: 'get',
    path: '/v1/shim',
    name: 'shimStatus',
    group,
    says: 'Which wrappers for PATH there are.',
    answer: shimStatesSchema,
    does: async () => shimStatesIn(SHIM_NAMES, undefined, environment),
  });
  for (const [name, change] of [
    ['install', installShimsIn],
    ['remove', removeShimsFrom],
  ] as const) {
    addOperation(app, {
      method: 'post',
      path: `/v1/shim/${name}`,
      name: `shim${name === 'install' ? 'Install' : 'Remove'}`,
      group,
      says: `${name === 'install' ? 'Make' : 'Remove'} wrappers for PATH.`,
      body: shims,
      answer: shimChangesSchema,
      does: async ({ body }) => change(body.harnesses, body.dir, environment),
    });
  }
}
