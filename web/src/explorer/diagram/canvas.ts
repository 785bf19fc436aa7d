import { FONT, type Stroke, type Surface, type Type } from "./surface";

/** Draws on a canvas. */
export class CanvasSurface implements Surface {
  constructor(private readonly on: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D) {
    on.lineCap = "round";
    on.lineJoin = "round";
    on.textBaseline = "alphabetic";
  }

  lines(xyxy: readonly number[], stroke: Stroke) {
    const { on } = this;
    on.beginPath();
    for (let i = 0; i < xyxy.length; i += 4) {
      on.moveTo(xyxy[i]!, xyxy[i + 1]!);
      on.lineTo(xyxy[i + 2]!, xyxy[i + 3]!);
    }
    this.stroke(stroke);
  }

  circles(xyr: readonly number[], fill: string, stroke?: Stroke) {
    const { on } = this;
    on.beginPath();
    for (let i = 0; i < xyr.length; i += 3) {
      on.moveTo(xyr[i]! + xyr[i + 2]!, xyr[i + 1]!);
      on.arc(xyr[i]!, xyr[i + 1]!, xyr[i + 2]!, 0, 2 * Math.PI);
    }
    on.fillStyle = fill;
    on.fill();
    if (stroke) this.stroke(stroke);
  }

  shapes(corners: readonly (readonly number[])[], fill: string | null, stroke?: Stroke) {
    const { on } = this;
    on.beginPath();
    for (const shape of corners) {
      on.moveTo(shape[0]!, shape[1]!);
      for (let i = 2; i < shape.length; i += 2) on.lineTo(shape[i]!, shape[i + 1]!);
      on.closePath();
    }
    if (fill !== null) {
      on.fillStyle = fill;
      on.fill();
    }
    if (stroke) this.stroke(stroke);
  }

  rect(x: number, y: number, width: number, height: number, fill: string, stroke?: Stroke, radius = 0) {
    const { on } = this;
    on.fillStyle = fill;
    if (radius === 0 && !stroke) return on.fillRect(x, y, width, height);
    on.beginPath();
    on.roundRect(x, y, width, height, radius);
    on.fill();
    if (stroke) this.stroke(stroke);
  }

  text(words: string, x: number, y: number, type: Type) {
    const { on } = this;
    on.font = `${type.bold ? "600 " : ""}${type.size}px ${FONT}`;
    on.textAlign = type.align === "middle" ? "center" : (type.align ?? "start");
    on.save();
    on.translate(x, y);
    if (type.angle) on.rotate(type.angle);
    if (type.halo) {
      on.strokeStyle = type.halo;
      on.lineWidth = 3;
      on.setLineDash([]);
      on.strokeText(words, 0, 0);
    }
    on.fillStyle = type.colour;
    on.fillText(words, 0, 0);
    on.restore();
  }

  private stroke({ colour, width, dash }: Stroke) {
    const { on } = this;
    on.strokeStyle = colour;
    on.lineWidth = width;
    on.setLineDash((dash as number[] | undefined) ?? []);
    on.stroke();
  }
}
