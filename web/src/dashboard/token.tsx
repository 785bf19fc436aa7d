import { useSignal } from "@preact/signals";
import { enter, operator } from "../operator";

/** Asks for the operator token, as long as it is not known. */
export function OperatorToken() {
  const wrong = useSignal(false);
  if (operator.value !== null) return null;
  return (
    <label class="token">
      Operator token
      <input type="password" autoComplete="off" spellcheck={false} aria-describedby="operator-token"
        onInput={(event) => (wrong.value = !enter(event.currentTarget.value) && event.currentTarget.value !== "")} />
      <span id="operator-token" class="soft">
        {wrong.value ? "It has thirty-two hexadecimal digits." : "Commands need it."} It is in the file <code>operator.token</code> of
        the member's data folder, and in the address that <code>bellwether up</code> prints.
      </span>
    </label>
  );
}
