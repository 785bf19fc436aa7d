/** A lesson as the gallery announces it; what it teaches is loaded when it is entered. */
export interface Announced {
  name: string;
  title: string;
  about: string;
}

const RUNS = import.meta.glob<string>("./runs/*.txt", { eager: true, query: "?raw", import: "default" });

/** A lesson's run begins with its number, its title and what it is about. */
function announced([path, run]: [string, string]): [number, Announced] {
  const [, number, title, about] = /^# Lesson (\d+)\. (.+)\n# (.+)\n/.exec(run) ?? [];
  return [Number(number), { name: path.slice("./runs/".length, -".txt".length), title: title ?? "", about: about ?? "" }];
}

/** The lessons, in the order in which they are best taken. */
export const LESSONS: readonly Announced[] = Object.entries(RUNS)
  .map(announced)
  .sort(([one], [other]) => one - other)
  .map(([, lesson]) => lesson);
