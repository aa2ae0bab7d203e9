// githandoff in OpenCode: asks "githandoff hook agent opencode EVENT" at the events of a
// session and does what it answers. Without the program, or without an answer, nothing
// changes.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const program = "githandoff"
const writers = ["edit", "write", "patch", "apply_patch", "multiedit"]

function ask(event, input, cwd) {
  return new Promise((resolve) => {
    let out = ""
    const none = () => resolve({})
    try {
      const child = spawn(program, ["hook", "agent", "opencode", event], {
        cwd, stdio: ["pipe", "pipe", "ignore"], timeout: 5000,
      })
      child.on("error", none)
      child.stdout.on("data", (data) => (out += data))
      child.on("close", () => {
        try {
          resolve(JSON.parse(out || "{}"))
        } catch {
          none()
        }
      })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(input))
    } catch {
      none()
    }
  })
}

export const Githandoff = async ({ directory, client }) => {
  const told = new Set()
  const children = new Set() // sessions of subagents
  const reminded = new Set()
  const base = (session) => ({ session_id: session, cwd: directory })

  return {
    event: async ({ event }) => {
      const p = event.properties ?? {}
      if (event.type === "session.created" && p.info?.parentID) children.add(p.info.id)
      if (event.type !== "session.idle" || children.has(p.sessionID) || reminded.has(p.sessionID)) return
      const answer = await ask("Stop", base(p.sessionID), directory)
      if (answer.decision !== "block") return
      reminded.add(p.sessionID)
      await client.session.prompt({
        path: { id: p.sessionID },
        body: { parts: [{ type: "text", text: answer.reason, synthetic: true }] },
      })
    },

    "chat.message": async (input, output) => {
      if (children.has(input.sessionID)) return
      const event = told.has(input.sessionID) ? "UserPromptSubmit" : "SessionStart"
      told.add(input.sessionID)
      const answer = await ask(event, { ...base(input.sessionID), source: "startup" }, directory)
      if (!answer.additionalContext) return
      output.parts.push({
        id: "prt_" + randomUUID().replaceAll("-", ""),
        sessionID: input.sessionID,
        messageID: output.message.id,
        type: "text",
        text: answer.additionalContext,
        synthetic: true,
      })
    },

    "tool.execute.before": async (input, output) => {
      const push = input.tool === "bash" && String(output.args?.command ?? "").includes("git push")
      if (!push && !writers.includes(input.tool)) return
      const call = { ...base(input.sessionID), tool_name: input.tool, tool_input: output.args }
      const answer = await ask("PreToolUse", call, directory)
      if (answer.deny) throw new Error(answer.deny)
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("SessionStart", { ...base(input.sessionID), source: "compact" }, directory)
      if (answer.additionalContext) output.context.push(answer.additionalContext)
    },
  }
}
