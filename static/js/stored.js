/** What pages remember: on this device, or in this tab. Where storage is forbidden or full
 * nothing is remembered, and what was chosen holds for the page. */

/** @param {() => Storage} find throws where storage is forbidden */
function remembering(find) {
  const attempt = (act) => {
    try {
      return act(find()) ?? null;
    } catch {
      return null;
    }
  };
  return {
    /** @param {string} key @returns {string | null} */
    get: (key) => attempt((storage) => storage.getItem(key)),
    /** @param {string} key @param {string} value */
    set: (key, value) => attempt((storage) => storage.setItem(key, value)),
    /** @param {string} key */
    remove: (key) => attempt((storage) => storage.removeItem(key)),
  };
}

export const onDevice = remembering(() => localStorage);
export const inTab = remembering(() => sessionStorage);
