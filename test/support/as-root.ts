import { THIS_MACHINE } from './needs.ts';

/** Whether what only root has may be expected here. A test that cannot do without it has the tag `root` (needs.ts). */
export const AS_ROOT = THIS_MACHINE.isCi || THIS_MACHINE.isRoot;
