import { useEffect, useState } from "preact/hooks";
import { fetchNext, fetchWrong, type Schemas } from "../api/client";
import { inMs, processName, timerWords } from "../run/words";
import type { Stage } from "./stage";

/** The question is asked when the viewer has stayed at a step for so long. */
const CALM_MS = 150;

/** What the buttons say, by the first word of a command. */
const LABELS: Record<string, string> = { deliver: "Deliver now", repeat: "Deliver twice", lose: "Lose", fire: "Fire now" };

interface NextProps {
  stage: Stage;
  scenario: string;
  onBranch: (command: string) => void;
  /** Hears what the checker found, in a sentence: the panel gives way to the branch that shows it. */
  onFound: (text: string) => void;
}

/**
 * What is on its way and what is set at this moment. Each can be chosen to happen next, whatever the network and the clocks
 * would do: a branch begins there.
 */
export function Next(props: NextProps) {
  const { stage, scenario, onBranch, onFound } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="panel next" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Choose what happens next</summary>
      {isOpen && <Choices us={stage.step.value.us} scenario={scenario} onBranch={onBranch} />}
      {isOpen && <Wrong us={stage.step.value.us} scenario={scenario} onBranch={onBranch} onFound={onFound} />}
    </details>
  );
}

/** An answer, and the moment that it is about. */
type Told = { us: number; choices: readonly Schemas["Choice"][] } | { us: number; problem: string };

function Choices({ us, scenario, onBranch }: { us: number; scenario: string; onBranch: (command: string) => void }) {
  const [told, setTold] = useState<Told | null>(null);
  useEffect(() => {
    const gone = new AbortController();
    const timer = setTimeout(() => {
      fetchNext({ scenario, after_us: us }, gone.signal).then(
        ({ choices }) => gone.signal.aborted || setTold({ us, choices }),
        (error: Error) => gone.signal.aborted || setTold({ us, problem: error.message }),
      );
    }, CALM_MS);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [us, scenario]);
  if (told?.us !== us) return <p role="status">Looking…</p>;
  if ("problem" in told) return <p class="warning">{told.problem}</p>;
  if (told.choices.length === 0) return <p>After {inMs(us)} no message is on its way and no timer is set.</p>;
  return (
    <ul>
      {told.choices.map((choice) => (
        <li key={choice.commands[0]}>
          <span>{nameOf(choice)}</span>
          {choice.commands.map((command) => (
            <button key={command} type="button" title={command} onClick={() => onBranch(command)}>
              {LABELS[command.split(" ", 1)[0]!] ?? command}
            </button>
          ))}
        </li>
      ))}
    </ul>
  );
}

/** Asks the checker for the shortest way to a violation, and shows it as a branch. */
function Wrong({ us, scenario, onBranch, onFound }: Omit<NextProps, "stage"> & { us: number }) {
  const [said, setSaid] = useState<{ us: number; text: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    try {
      const { text, command, states } = await fetchWrong({ scenario, after_us: us });
      const found = `${text} (${states.toLocaleString("en")} states searched)`;
      setSaid({ us, text: found });
      if (command == null) return;
      onFound(found);
      onBranch(command);
    } catch (error) {
      setSaid({ us, text: (error as Error).message });
    } finally {
      setBusy(false);
    }
  };
  return (
    <p class="wrong">
      <button type="button" disabled={isBusy} onClick={() => void ask()}>What could go wrong from here?</button>
      <span role="status">{isBusy ? "Searching…" : said?.us === us ? said.text : ""}</span>
    </p>
  );
}

function nameOf({ from, node, text }: Schemas["Choice"]): string {
  return from == null ? `Timer of ${processName(node)}: ${timerWords(text)}` : `${processName(from)} → ${processName(node)}: ${text}`;
}
