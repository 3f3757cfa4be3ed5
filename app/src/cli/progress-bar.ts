// A line that shows how far something is.

const WIDTH = 30;

export function progressBar(done: number, all: number): string {
  const [some, total] = [done, all].map((count) => count.toLocaleString("en"));
  return `${shareBar(done, all)}  ${some} of ${total}`;
}

/** The bar and its share, without the figures. */
export function shareBar(done: number, all: number): string {
  const share = all <= 0 ? 0 : Math.min(1, Math.max(0, done / all));
  const full = Math.floor(share * WIDTH);
  return `[${"#".repeat(full)}${" ".repeat(WIDTH - full)}] ${Math.floor(share * 100)} %`;
}
