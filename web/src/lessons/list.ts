/** A lesson as the gallery announces it; what it teaches is loaded when it is entered. */
export interface Announced {
  name: string;
  title: string;
  about: string;
}

/** The lessons, in the order in which they are best taken. */
export const LESSONS: readonly Announced[] = [
  {
    name: "bully",
    title: "Bully: the largest gets its way",
    about: "Four processes, and two of them die. Why P3, and what happens when the others come back?",
  },
  {
    name: "ring",
    title: "Ring: a list goes round",
    about: "A message collects everybody it meets. Two of them at once do no harm; but why?",
  },
  {
    name: "active-list",
    title: "Active lists: everybody counts",
    about: "Each number goes round once, and nobody has to announce the winner.",
  },
  {
    name: "chang-roberts",
    title: "Chang and Roberts: only the largest survives",
    about: "A number that cannot win is thrown away as early as possible.",
  },
  {
    name: "hirschberg-sinclair",
    title: "Hirschberg and Sinclair: ask near, then far",
    about: "Candidates ask ever wider neighbourhoods, and few are left for the dear questions.",
  },
  {
    name: "peterson",
    title: "Peterson: half of them leave each round",
    about: "One direction only, and still n log n: numbers move on, and their owners need not.",
  },
];
