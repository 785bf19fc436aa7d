/** The explorer. */
export function Explorer() {
  return <p>Explorer</p>;
}
