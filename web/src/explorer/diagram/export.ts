import type { Model } from "../../run/model";
import { inMs } from "../../run/words";
import { CanvasSurface } from "./canvas";
import { paintAxis, paintCuts, paintGround, paintNames, paintPiece } from "./paint";
import { colourNumbers, kindInk, LIGHT } from "./colours";
import { AXIS, GUTTER, layPlan, type Piece, type Plan } from "./plan";
import { arrowHead } from "./signs";
import { layStrip, paintStrip } from "./strip";
import { SvgSurface } from "./svg";
import { widthOf, type Surface } from "./surface";

const SCALE = 120;
const MARGIN = 20;
const TITLE = 62;
const LEGEND = 34;
/** Wider pictures than this are beyond what browsers draw. */
const PNG_MAX = 16_000;

/** The whole diagram as an SVG file that needs nothing else, and the state of the processes after this number of events. */
export function diagramSvg(model: Model, happened = model.events.length): string {
  const plan = layPlan(model, SCALE, laneFor(model));
  const on = new SvgSurface();
  paintAll(on, plan, happened, (x, y, draw) => {
    const inner = new SvgSurface();
    draw(inner);
    on.group(inner, x, y);
  });
  const { width, height } = sizeOf(plan, happened);
  return on.file(width, height, `${model.header.title}, ${model.header.nodes.length} processes`);
}

/** The same as a picture of pixels. */
export async function diagramPng(model: Model, happened = model.events.length): Promise<Blob> {
  const plan = layPlan(model, SCALE, laneFor(model));
  const { width, height } = sizeOf(plan, happened);
  const sharpness = Math.min(2, PNG_MAX / width);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * sharpness), Math.ceil(height * sharpness)];
  const context = canvas.getContext("2d", { alpha: false })!;
  context.scale(sharpness, sharpness);
  const on = new CanvasSurface(context);
  paintAll(on, plan, happened, (x, y, draw) => {
    context.save();
    context.translate(x, y);
    draw(on);
    context.restore();
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large for this browser."))));
  });
}

const laneFor = ({ header }: Model) => (header.nodes.length <= 12 ? 62 : header.nodes.length <= 24 ? 36 : 22);

const roomOf = (plan: Plan) => Math.max(plan.width, 640);

const sizeOf = (plan: Plan, happened: number) => ({
  width: roomOf(plan) + 2 * MARGIN,
  height: TITLE + plan.height + AXIS + LEGEND + MARGIN + layStrip(plan.model, happened, roomOf(plan)).height,
});

type Moved = (x: number, y: number, draw: (on: Surface) => void) => void;

function paintAll(on: Surface, plan: Plan, happened: number, moved: Moved) {
  const { width, height } = sizeOf(plan, happened);
  const { header, events } = plan.model;
  on.rect(0, 0, width, height, LIGHT.paper);
  on.text(header.title, MARGIN, 30, { size: 20, colour: LIGHT.ink, bold: true });
  const facts = [`${header.nodes.length} processes`, `${events.length} events`, inMs(events.at(-1)?.us ?? 0), `seed ${header.seed}`];
  on.text(facts.join(" · "), MARGIN, 50, { size: 13, colour: LIGHT.faint });
  moved(MARGIN, TITLE, (on) => {
    const whole: Piece = {
      flights: [...plan.model.flights.all.keys()],
      events: [...events.keys()],
      labels: [...new Set(plan.pieces.flatMap(({ labels }) => labels))],
    };
    paintGround(on, plan, LIGHT, GUTTER, plan.width);
    paintPiece(on, plan, whole, LIGHT);
    paintCuts(on, plan, LIGHT);
    paintNames(on, plan, LIGHT, 0);
    paintAxis(on, plan, LIGHT, GUTTER, plan.width, plan.height);
  });
  moved(MARGIN, TITLE + plan.height + AXIS + 20, (on) => paintLegend(on, plan));
  moved(MARGIN, TITLE + plan.height + AXIS + LEGEND + 8, (on) => paintStrip(on, layStrip(plan.model, happened, roomOf(plan))));
}

/** The kinds of messages, with how many of each there were. */
function paintLegend(on: Surface, { model }: Plan) {
  const colours = colourNumbers(model.flights.kinds);
  let x = 0;
  model.flights.kinds.forEach(({ name, sends }, kind) => {
    const { line, dash } = kindInk(LIGHT, colours[kind]!);
    on.lines([x, 0, x + 22, 0], dash ? { colour: line, width: 1.6, dash } : { colour: line, width: 1.6 });
    on.shapes([arrowHead(x, 0, x + 26, 0, 8)], line);
    const words = `${name} ×${sends.length}`;
    on.text(words, x + 32, 4, { size: 12, colour: LIGHT.ink });
    x += 32 + widthOf(words, 12) + 22;
  });
}
