import { activeList } from "./active-list";
import { bully } from "./bully";
import { changRoberts } from "./chang-roberts";
import { hirschbergSinclair } from "./hirschberg-sinclair";
import { peterson } from "./peterson";
import { ring } from "./ring";
import type { LessonData } from "./types";

/** All lessons, as the gallery lists them. */
export const ALL: readonly LessonData[] = [bully, ring, activeList, changRoberts, hirschbergSinclair, peterson];
