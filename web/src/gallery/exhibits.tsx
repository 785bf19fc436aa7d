import { useMemo } from "preact/hooks";
import type { Schemas } from "../api/client";
import { go, navigate, place } from "../place";
import { applyFilter, filterLink, grouped, readFilter, type Filter } from "./filter";
import { Thumbnail } from "./thumbnail";

interface Props {
  exhibits: Schemas["Exhibit"][];
  catalogue: Schemas["Catalogue"] | null;
}

/** All runs worth looking at, by family. */
export function Exhibits({ exhibits, catalogue }: Props) {
  const filter = readFilter(place.value.params);
  const shown = applyFilter(exhibits, filter);
  const groups = grouped(shown, catalogue);
  return (
    <>
      <Filters exhibits={exhibits} catalogue={catalogue} filter={filter} />
      <p class="soft" role="status">
        {shown.length === exhibits.length ? `${shown.length} runs` : `${shown.length} of ${exhibits.length} runs`}
      </p>
      {shown.length === 0 && (
        <p>
          No run fits.{" "}
          <a href="/explore" onClick={go("/explore")}>
            Show all of them
          </a>
        </p>
      )}
      {groups.map((group) => (
        <section key={group.name} aria-labelledby={`family-${group.name}`}>
          <h3 class="family" id={`family-${group.name}`}>
            {group.title}
          </h3>
          {group.about && <p class="soft">{group.about}</p>}
          <ul class="cards">
            {group.exhibits.map((exhibit) => (
              <Card key={exhibit.id} exhibit={exhibit} catalogue={catalogue} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function Filters({ exhibits, catalogue, filter }: Props & { filter: Filter }) {
  const families = useMemo(() => grouped(exhibits, catalogue), [exhibits, catalogue]);
  const algorithms = useMemo(
    () => [
      ...new Set(applyFilter(exhibits, { ...filter, algorithm: null, counterexamples: false }).map((e) => e.algorithm)),
    ],
    [exhibits, filter.family],
  );
  const choose = (change: Partial<Filter>) => {
    const top = window.scrollY;
    navigate(filterLink({ ...filter, ...change }));
    window.scrollTo(0, top); // the list changes under the buttons; the buttons should stay where they are
  };
  return (
    <div class="filters" role="group" aria-label="Which runs to show">
      <div class="chips">
        <button
          type="button"
          aria-pressed={filter.family === null}
          onClick={() => choose({ family: null, algorithm: null })}
        >
          All
        </button>
        {families.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            aria-pressed={filter.family === name}
            onClick={() => choose({ family: name, algorithm: null })}
          >
            {title}
          </button>
        ))}
      </div>
      <label>
        Algorithm{" "}
        <select
          value={filter.algorithm ?? ""}
          onChange={(event) => choose({ algorithm: event.currentTarget.value || null })}
        >
          <option value="">any</option>
          {algorithms.map((name) => (
            <option key={name} value={name}>
              {titleOf(name, catalogue)}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={filter.counterexamples}
          onChange={(event) => choose({ counterexamples: event.currentTarget.checked })}
        />{" "}
        Counterexamples only
      </label>
    </div>
  );
}

function Card({ exhibit, catalogue }: { exhibit: Schemas["Exhibit"]; catalogue: Schemas["Catalogue"] | null }) {
  const link = `/explore#exhibit=${encodeURIComponent(exhibit.id)}`;
  return (
    <li class="card">
      <Thumbnail scenario={exhibit.scenario} />
      <p class="overline">
        {titleOf(exhibit.algorithm, catalogue)}
        {exhibit.counterexample && <span class="tag">Counterexample</span>}
      </p>
      <h4>
        <a href={link} onClick={go(link)}>
          {exhibit.title}
        </a>
      </h4>
      <p>{exhibit.look}</p>
    </li>
  );
}

const titleOf = (name: string, catalogue: Schemas["Catalogue"] | null) =>
  catalogue?.algorithms.find((algorithm) => algorithm.name === name)?.title ?? name;
