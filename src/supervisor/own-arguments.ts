/** For ways in, which read the words of a command before anything else is there. */
export { ownArguments } from '../process/own-words.ts';
