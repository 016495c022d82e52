/** Words in the language of the page. Scripts name them in English; the server adds what
 * other languages say (apps/web/script_words.py). */

const added = document.querySelector("#script-words");
/** @type {Record<string, string | Record<string, string>>} */
const catalogue = added ? JSON.parse(added.textContent) : {};

/** @param {string} text @returns {string} */
export const say = (text) => catalogue[text] ?? text;

/** @param {string} one with `{count}`, like the next @param {string} many @param {number} count @returns {string} */
export function sayCount(one, many, count) {
  const forms = catalogue[one] ?? { one, other: many };
  const category = new Intl.PluralRules(document.documentElement.lang).select(count);
  return (forms[category] ?? forms.other).replace("{count}", count);
}
