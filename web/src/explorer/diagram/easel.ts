import { Relation } from "../../run/causality";
import { CanvasSurface } from "./canvas";
import { freshOf } from "./fresh";
import { paintAxis, paintCuts, paintGround, paintLabel, paintNames, paintPiece } from "./paint";
import { colourNumbers, kindInk, type Palette } from "./colours";
import { AXIS, GUTTER, TILE, xOf, type Plan } from "./plan";

/** What one looks at: which part of the diagram, at which moment. */
export interface Sight {
  /** How far the diagram is scrolled. */
  left: number;
  top: number;
  width: number;
  height: number;
  /** Pixels of the screen per pixel. */
  sharpness: number;
  /** Where on the time line it is now, and how many events have happened. */
  place: number;
  happened: number;
  /** How each event stands to the one that is looked at; null if none is. */
  relations: Uint8Array | null;
  lit: number | null;
  /** Whether what has not happened yet is left out, or only pale. */
  hideFuture: boolean;
}

/** The pieces that are kept may take this many bytes. */
const KEPT_BYTES = 80e6;
/** New pieces may take this much of a frame; what is still missing then comes in the next. */
const BUDGET_MS = 7;

/**
 * Draws the diagram on a canvas, fast enough for every frame: what does not change from frame to
 * frame is drawn once, in pieces that are kept, and only what is seen is drawn at all.
 */
export class Easel {
  /** Bitmaps: a canvas would be copied whenever it is drawn. */
  private pieces = new Map<number, ImageBitmap>();
  private plan: Plan | null = null;
  private ink: Palette | null = null;
  private sharpness = 0;

  /** Draws; true if something is still missing. */
  draw(canvas: HTMLCanvasElement, plan: Plan, ink: Palette, sight: Sight): boolean {
    if (plan !== this.plan || ink !== this.ink || sight.sharpness !== this.sharpness) this.forget();
    [this.plan, this.ink, this.sharpness] = [plan, ink, sight.sharpness];
    const context = canvas.getContext("2d", { alpha: false })!;
    const { left, top, width, height, sharpness } = sight;
    context.setTransform(sharpness, 0, 0, sharpness, 0, 0);
    context.fillStyle = ink.paper;
    context.fillRect(0, 0, width, height);
    const missing = this.layPieces(context, plan, ink, sight);
    context.translate(-left, -top);
    const on = new CanvasSurface(context);
    const now = xOf(plan, sight.place);
    context.fillStyle = sight.hideFuture ? ink.paper : ink.veil;
    context.fillRect(now, 0, left + width - now, plan.height);
    this.paintFresh(on, plan, ink, sight, now);
    paintCuts(on, plan, ink, sight.happened);
    if (sight.relations) this.paintCones(context, on, plan, ink, sight, sight.relations);
    this.paintNow(on, plan, ink, sight, now);
    this.paintFrame(context, on, plan, ink, sight, sight.hideFuture ? now : Infinity);
    return missing;
  }

  private layPieces(context: CanvasRenderingContext2D, plan: Plan, ink: Palette, sight: Sight): boolean {
    const began = performance.now();
    let missing = false;
    const { left, top, width, sharpness } = sight;
    for (let number = Math.floor(left / TILE); number <= Math.floor((left + width) / TILE); number++) {
      if (number >= plan.pieces.length) break;
      let piece = this.pieces.get(number);
      if (!piece && performance.now() - began > BUDGET_MS) {
        missing = true;
        continue;
      }
      piece ??= this.paint(plan, ink, number, sharpness);
      this.pieces.delete(number);
      this.pieces.set(number, piece); // the youngest is last
      context.drawImage(piece, number * TILE - left, -top, TILE, plan.height);
    }
    for (const [oldest] of this.pieces) {
      if (this.pieces.size <= this.room) break;
      this.pieces.get(oldest)?.close();
      this.pieces.delete(oldest);
    }
    return missing;
  }

  private forget() {
    for (const piece of this.pieces.values()) piece.close();
    this.pieces.clear();
  }

  /** How many pieces are kept at most. */
  private get room(): number {
    const bytes = 4 * TILE * (this.plan?.height ?? 1) * this.sharpness ** 2;
    return Math.max(8, Math.floor(KEPT_BYTES / bytes));
  }

  /** Draws one more piece while there is nothing else to do, the nearest first; false if there is none. */
  prepare(left: number): boolean {
    const { plan, ink } = this;
    if (!plan || !ink || this.pieces.size >= Math.min(this.room, plan.pieces.length)) return false;
    const here = Math.floor(left / TILE);
    for (let off = 0; off < plan.pieces.length; off++) {
      for (const number of [here + off, here - off]) {
        if (!plan.pieces[number] || this.pieces.has(number)) continue;
        this.pieces.set(number, this.paint(plan, ink, number, this.sharpness));
        return true;
      }
    }
    return false;
  }

  private paint(plan: Plan, ink: Palette, number: number, sharpness: number): ImageBitmap {
    const canvas = new OffscreenCanvas(TILE * sharpness, Math.ceil(plan.height * sharpness));
    const context = canvas.getContext("2d", { alpha: false })!;
    context.scale(sharpness, sharpness);
    context.fillStyle = ink.paper;
    context.fillRect(0, 0, TILE, plan.height);
    context.translate(-number * TILE, 0);
    const on = new CanvasSurface(context);
    paintGround(on, plan, ink, number * TILE, (number + 1) * TILE);
    paintPiece(on, plan, plan.pieces[number]!, ink);
    return canvas.transferToImageBitmap();
  }

  /** Words and messages of what has just happened reach beyond this moment; they are not part of the future. */
  private paintFresh(on: CanvasSurface, plan: Plan, ink: Palette, sight: Sight, now: number) {
    const colours = colourNumbers(plan.model.flights.kinds);
    const { labels, over, stubs } = freshOf(plan, sight.happened, now);
    if (over.size > 0) {
      const piece = { flights: [...over], events: [], labels: [] };
      paintPiece(on, plan, piece, ink);
    }
    // Where the future is shown, the whole arrow is there.
    for (const { kind, line } of sight.hideFuture ? stubs : []) {
      on.lines(line, { colour: kindInk(ink, colours[kind]!).line, width: 1.6 });
    }
    for (const label of labels) paintLabel(on, ink, colours, label);
  }

  /** What can have caused an event, and what it can have caused; all else is dimmed. */
  private paintCones(
    context: CanvasRenderingContext2D,
    on: CanvasSurface,
    plan: Plan,
    ink: Palette,
    sight: Sight,
    relations: Uint8Array,
  ) {
    const { events, flights } = plan.model;
    const { left, width } = sight;
    context.fillStyle = ink.dim;
    context.fillRect(left, 0, width, plan.height);
    const ends = new Map<number, { past?: number; future?: number }>();
    events.forEach(({ node, event }, index) => {
      if (node == null || event === "drop") return;
      const end = ends.get(node) ?? {};
      if (relations[index] === Relation.past || relations[index] === Relation.self) end.past = plan.x[index]!;
      if (relations[index] === Relation.future || relations[index] === Relation.self) end.future ??= plan.x[index]!;
      ends.set(node, end);
    });
    const past: number[] = [];
    const future: number[] = [];
    for (const [node, end] of ends) {
      const y = plan.y.get(node)!;
      if (end.past !== undefined) past.push(Math.max(left, GUTTER), y, end.past, y);
      if (end.future !== undefined) future.push(end.future, y, Math.min(plan.end, left + width), y);
    }
    const wide = Math.min(6, plan.lane * 0.3);
    on.lines(past.filter((_, i) => past[i - (i % 4)]! < past[i - (i % 4) + 2]!), { colour: ink.past, width: wide });
    on.lines(future, { colour: ink.future, width: wide, dash: [2, wide + 4] });
    const isLit = (index: number) => relations[index] !== Relation.none;
    const choice = {
      event: isLit,
      flight: (number: number) => {
        const { send, arrive } = flights.all[number]!;
        return isLit(send) && arrive !== null && (isLit(arrive) || relations[send] === Relation.self);
      },
    };
    for (let number = Math.floor(left / TILE); number <= Math.floor((left + width) / TILE); number++) {
      const piece = plan.pieces[number];
      if (piece) paintPiece(on, plan, piece, ink, choice);
    }
  }

  /** The current moment: a line through all processes, and a ring around the current event. */
  private paintNow(on: CanvasSurface, plan: Plan, ink: Palette, sight: Sight, now: number) {
    on.lines([now, 0, now, plan.height], { colour: ink.now, width: 2 });
    for (const index of new Set([sight.happened - 1, sight.lit ?? -1])) {
      const node = plan.model.events[index]?.node;
      if (node == null) continue;
      const ring = { colour: index === sight.lit ? ink.ink : ink.now, width: 2.4 };
      on.circles([plan.x[index]!, plan.y.get(node)!, Math.min(9, plan.lane * 0.42)], "transparent", ring);
    }
  }

  /** The names and the axis stay where they are when the rest is scrolled. */
  private paintFrame(context: CanvasRenderingContext2D, on: CanvasSurface, plan: Plan, ink: Palette, sight: Sight, until: number) {
    const { left, top, width, height } = sight;
    const axis = top + height - AXIS;
    context.fillStyle = ink.paper;
    context.fillRect(left, top, GUTTER - 4, height);
    paintNames(on, plan, ink, left);
    context.fillStyle = ink.paper;
    context.fillRect(left, axis, width, AXIS);
    paintAxis(on, plan, ink, left + GUTTER, left + width, axis, until);
    context.fillStyle = ink.paper;
    context.fillRect(left, axis, GUTTER - 6, AXIS);
  }
}
