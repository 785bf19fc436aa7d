/** Opens a file. */
export function Open() {
  return <p>Open</p>;
}
