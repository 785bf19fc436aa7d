import { useEffect, useState } from "preact/hooks";
import { fetchCatalogue, fetchGallery, fetchRun, type Schemas } from "../api/client";
import { place } from "../place";
import { readLink } from "../run/links";
import { modelOf } from "../run/model";
import { Player } from "./player";
import { Stage } from "./stage";

/** The explorer. */
export function Explorer() {
  const [stage, setStage] = useState<Stage | null>(null);
  const [rules, setRules] = useState<readonly Schemas["Rule"][]>([]);
  const { params } = place.value;
  useEffect(() => {
    void (async () => {
      const { link } = await readLink(params);
      const { exhibits } = await fetchGallery();
      const { source } = link;
      const wanted = source && "exhibit" in source ? source.exhibit : null;
      const scenario =
        source && "scenario" in source ? source.scenario : exhibits.find(({ id }) => id === wanted)?.scenario;
      const { algorithms } = await fetchCatalogue();
      setRules(algorithms.find(({ name }) => scenario?.includes(`cluster ${name} `))?.rules ?? []);
      if (scenario) setStage(new Stage(modelOf(await fetchRun({ scenario })), link.at));
    })();
  }, [params]);
  return stage ? <Player stage={stage} rules={rules} /> : <p>One moment</p>;
}
