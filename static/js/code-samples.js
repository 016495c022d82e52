/** The same request as curl, Python and JavaScript. The key stays a variable. */

/** @param {string} text */
export const shellQuote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A JSON string is a valid literal in Python and JavaScript alike. @param {string} text */
const literal = (text) => JSON.stringify(text);

/**
 * @param {{base: string, model: string, prompt: string, system?: string,
 *   temperature?: number | null, limits?: object}} request
 * @returns {{curl: string, python: string, javascript: string}}
 */
export function codeSamples({ base, model, prompt, system = "", temperature = null, limits = {} }) {
  const spoken = [...(system ? [["system", system]] : []), ["user", prompt]];
  const hasLimits = Object.keys(limits).length > 0;
  const limitsText = JSON.stringify(limits).replaceAll(/([:,])/g, "$1 ");
  const body = JSON.stringify({
    model,
    messages: spoken.map(([role, content]) => ({ role, content })),
    ...(temperature === null ? {} : { temperature }),
    ...(hasLimits ? { conductor: limits } : {}),
  }, null, 2);
  return {
    curl: [
      `curl ${base}/chat/completions \\`,
      `  -H "Authorization: Bearer $CONDUCTOR_API_KEY" \\`,
      `  -H "Content-Type: application/json" \\`,
      `  -d ${shellQuote(body)}`,
    ].join("\n"),
    python: [
      "import os",
      "",
      "from openai import OpenAI",
      "",
      `client = OpenAI(base_url=${literal(base)}, api_key=os.environ["CONDUCTOR_API_KEY"])`,
      "completion = client.chat.completions.create(",
      `    model=${literal(model)},`,
      `    messages=[${spoken.map(([role, text]) => `{"role": ${literal(role)}, "content": ${literal(text)}}`).join(", ")}],`,
      ...(temperature === null ? [] : [`    temperature=${temperature},`]),
      ...(hasLimits ? [`    extra_body={"conductor": ${limitsText}},`] : []),
      ")",
      "print(completion.choices[0].message.content)",
    ].join("\n"),
    javascript: [
      `import OpenAI from "openai";`,
      "",
      "const client = new OpenAI({",
      `  baseURL: ${literal(base)},`,
      "  apiKey: process.env.CONDUCTOR_API_KEY,",
      "});",
      "const completion = await client.chat.completions.create({",
      `  model: ${literal(model)},`,
      `  messages: [${spoken.map(([role, text]) => `{ role: ${literal(role)}, content: ${literal(text)} }`).join(", ")}],`,
      ...(temperature === null ? [] : [`  temperature: ${temperature},`]),
      ...(hasLimits ? [`  conductor: ${limitsText},`] : []),
      "});",
      "console.log(completion.choices[0].message.content);",
    ].join("\n"),
  };
}

/** Arrow keys move between tabs, as the pattern for tabs asks. @param {HTMLElement} list */
export function setUpTabs(list) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const choose = (chosen) => {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + move + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}
