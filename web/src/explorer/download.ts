/** Hands a file to the viewer. */
export function download(name: string, content: Blob | string, type = "text/plain") {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser needs the address until it has begun; there is no telling when that is.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
