/** A lesson. */
export function Lesson() {
  return <p>Lesson</p>;
}
