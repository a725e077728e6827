/** A long review has some kilobytes; what is larger is a log. */
export const MAX_REVIEW_BYTES = 1024 * 1024;
