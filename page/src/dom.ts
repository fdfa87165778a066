// Making elements. Text becomes text nodes and nothing else: no string is ever read as HTML.

export type Child = Node | string | number | null | undefined | false;
type Attribute = string | number | boolean | ((event: Event) => void) | null | undefined;

/** Make an element: `h("a", { href: "#x", onclick: go }, "words")`. A function listens, `true` is a bare attribute. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, Attribute> = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...nodes(children));
  return element;
}

/** The same for a drawing. */
export function svg(tag: string, attributes: Record<string, Attribute> = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  element.append(...nodes(children));
  return element;
}

/** Put other children into an element. */
export function fill(element: Element, ...children: (Child | Child[])[]): void {
  element.replaceChildren(...nodes(children));
}

function set(element: Element, attributes: Record<string, Attribute>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function nodes(children: (Child | Child[])[]): (Node | string)[] {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Only such an address may become a link. */
export function link(address: string | null, ...children: Child[]): Node {
  const safe = address !== null && /^https?:\/\//.test(address);
  return safe ? h("a", { href: address, rel: "noopener noreferrer" }, ...children) : h("span", {}, ...children);
}
