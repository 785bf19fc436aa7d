/** The gallery. */
export function Gallery() {
  return <p>Gallery</p>;
}
