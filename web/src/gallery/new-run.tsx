/** Makes a run of one's own. */
export function NewRun() {
  return <p>New run</p>;
}
