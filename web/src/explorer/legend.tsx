import type { ComponentChildren } from "preact";
import { cross, crown, hourglass, triangle } from "./diagram/signs";

const points = (corners: readonly number[]) => corners.join(" ");
const lines = ([x1, y1, x2, y2, x3, y3, x4, y4]: readonly number[]) => `M${x1} ${y1}L${x2} ${y2}M${x3} ${y3}L${x4} ${y4}`;

/** What the signs in the pictures mean. */
export function Legend() {
  return (
    <ul class="legend">
      <Sign words="considers itself the coordinator">
        <rect class="reign" x="2" y="9" width="28" height="10" rx="5" />
        <polygon class="crown" points={points(crown(16, 9, 7))} />
      </Sign>
      <Sign words="learns who the coordinator is"><circle class="crown" cx="16" cy="12" r="5" /></Sign>
      <Sign words="is in the critical section"><rect class="inside" x="4" y="7" width="24" height="10" rx="2" /></Sign>
      <Sign words="waits for the critical section"><rect class="waits" x="4" y="10" width="24" height="5" /></Sign>
      <Sign words="crashes and is down"><path class="fell" d={lines(cross(16, 12, 6))} /></Sign>
      <Sign words="recovers"><circle class="rose" cx="16" cy="12" r="5" /></Sign>
      <Sign words="is paused"><path class="sign" d="M6 17l5 -10M13 17l5 -10M20 17l5 -10" /></Sign>
      <Sign words="gets a request from outside"><polygon class="sign" points={points(triangle(16, 11, 6))} /></Sign>
      <Sign words="a timer expires">
        {hourglass(16, 12, 6).map((corners) => <polygon key={corners[1]} class="sign" points={points(corners)} />)}
      </Sign>
      <Sign words="reports something"><circle class="sign" cx="16" cy="12" r="4" /></Sign>
      <Sign words="a message does not arrive"><path class="kind" d={`M2 18L18 10${lines(cross(18, 10, 4))}`} /></Sign>
      <Sign words="a long silence is left out"><path class="sign" d="M12 2l4 5l-4 5l4 5l-4 5M19 2l4 5l-4 5l4 5l-4 5" /></Sign>
    </ul>
  );
}

function Sign({ words, children }: { words: string; children: ComponentChildren }) {
  return (
    <li>
      <svg viewBox="0 0 32 24" width="32" height="24" aria-hidden="true">{children}</svg>
      {words}
    </li>
  );
}
