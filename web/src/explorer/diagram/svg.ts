import { FONT, type Stroke, type Surface, type Type } from "./surface";

/** Writes the text of an SVG file that needs nothing else. */
export class SvgSurface implements Surface {
  private readonly parts: string[] = [];

  lines(xyxy: readonly number[], stroke: Stroke) {
    let path = "";
    for (let i = 0; i < xyxy.length; i += 4) {
      path += `M${at(xyxy[i]!)} ${at(xyxy[i + 1]!)}L${at(xyxy[i + 2]!)} ${at(xyxy[i + 3]!)}`;
    }
    if (path) this.parts.push(`<path d="${path}" fill="none"${stroked(stroke)}/>`);
  }

  circles(xyr: readonly number[], fill: string, stroke?: Stroke) {
    let all = "";
    for (let i = 0; i < xyr.length; i += 3) {
      all += `<circle cx="${at(xyr[i]!)}" cy="${at(xyr[i + 1]!)}" r="${at(xyr[i + 2]!)}"/>`;
    }
    if (all) this.parts.push(`<g fill="${fill}"${stroked(stroke)}>${all}</g>`);
  }

  shapes(corners: readonly (readonly number[])[], fill: string | null, stroke?: Stroke) {
    const path = corners.map((shape) => `M${shape.map(at).join(" ")}Z`).join("");
    if (path) this.parts.push(`<path d="${path}" fill="${fill ?? "none"}"${stroked(stroke)}/>`);
  }

  rect(x: number, y: number, width: number, height: number, fill: string, stroke?: Stroke, radius = 0) {
    this.parts.push(
      `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" rx="${radius}" fill="${fill}"${stroked(stroke)}/>`,
    );
  }

  text(words: string, x: number, y: number, type: Type) {
    const turned = type.angle ? ` transform="rotate(${at((type.angle * 180) / Math.PI)} ${at(x)} ${at(y)})"` : "";
    const halo = type.halo ? ` stroke="${type.halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : "";
    const bold = type.bold ? ' font-weight="600"' : "";
    this.parts.push(
      `<text x="${at(x)}" y="${at(y)}" font-size="${type.size}" text-anchor="${type.align ?? "start"}" fill="${type.colour}"${bold}${halo}${turned}>${escape(words)}</text>`,
    );
  }

  /** Puts another drawing into this one, moved. */
  group(inner: SvgSurface, x: number, y: number) {
    this.parts.push(`<g transform="translate(${at(x)} ${at(y)})">\n${inner.parts.join("\n")}\n</g>`);
  }

  /** The file. */
  file(width: number, height: number, title: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${at(width)}" height="${at(height)}" viewBox="0 0 ${at(width)} ${at(height)}" ` +
      `role="img" font-family="${escape(FONT)}" stroke-linecap="round" stroke-linejoin="round">` +
      `<title>${escape(title)}</title>\n${this.parts.join("\n")}\n</svg>\n`
    );
  }
}

const at = (value: number) => Math.round(value * 100) / 100;

function stroked(stroke?: Stroke): string {
  if (!stroke) return "";
  const dash = stroke.dash?.length ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "";
  return ` stroke="${stroke.colour}" stroke-width="${stroke.width}"${dash}`;
}

/** Words from a run may contain anything, characters that XML forbids included. */
const escape = (words: string) =>
  words
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
