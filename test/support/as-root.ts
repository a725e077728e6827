/**
 * For what only root can set up: a cgroup, a namespace, a file of another user. An ordinary user's run leaves those tests
 * out, and says so; whoever decides what lands runs them all, as root.
 */
export const AS_ROOT = process.env['CI'] === 'true' || process.getuid?.() === 0;
