export async function demo(_options: object): Promise<number> {
  return 1;
}
