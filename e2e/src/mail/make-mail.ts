// Mails as programs make them: a header, a text, attachments in base64.

export interface MadeMail {
  subject?: string;
  text?: string;
  attachments?: readonly { name: string; bytes: Uint8Array }[];
  /** Characters of a line of base64. */
  lineCharacters?: number;
}

const BOUNDARY = "=_made_by_a_program_7f3";

export function makeMail({ subject = "Plans", text = "See below.\r\n", ...rest }: MadeMail): Buffer {
  const { attachments = [], lineCharacters = 76 } = rest;
  const parts = attachments.map(({ name, bytes }) =>
    [
      `--${BOUNDARY}`,
      `Content-Type: application/octet-stream; name="${name}"`,
      "Content-Transfer-Encoding: base64",
      `Content-Disposition: attachment; filename="${name}"`,
      "",
      ...lines(Buffer.from(bytes).toString("base64"), lineCharacters),
    ].join("\r\n"),
  );
  const head = [
    "From: ada@a.example",
    "To: ben@b.example",
    `Subject: ${subject}`,
    // A mail server adds those that are missing.
    "Date: Sat, 05 Nov 2022 06:00:00 +0000",
    `Message-ID: <${subject.replaceAll(" ", "-")}@program.example>`,
    "MIME-Version: 1.0",
    `Content-Type: multipart/mixed;\r\n\tboundary="${BOUNDARY}"`,
    "",
    "A mail in parts.",
    `--${BOUNDARY}`,
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
  ];
  return Buffer.from([...head, ...parts, `--${BOUNDARY}--`, ""].join("\r\n"));
}

function lines(text: string, length: number): string[] {
  return text.match(new RegExp(`.{1,${length}}`, "g")) ?? [];
}
