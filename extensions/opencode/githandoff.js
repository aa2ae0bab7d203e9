// githandoff in OpenCode: asks "githandoff hook agent opencode EVENT" at the events of a
// session and does what it answers. Without the program, or without an answer, nothing
// changes.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const program = "githandoff"
const mcp = false // whether the agent is given the tools of "githandoff mcp"
const wake = false // whether a handoff that arrives starts a turn
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

// watch calls tell with a line for each handoff that arrives.
function watch(session, cwd, tell) {
  try {
    const child = spawn(program, ["watch", "--wake", "line", "--session", session], {
      cwd, stdio: ["ignore", "pipe", "ignore"],
    })
    child.on("error", () => {})
    let rest = ""
    child.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n")
      rest = lines.pop()
      lines.filter(Boolean).forEach(tell)
    })
    return child
  } catch {
    return undefined
  }
}

export const Githandoff = async ({ directory, client }) => {
  const told = new Set()
  const children = new Set() // sessions of subagents
  const reminded = new Set()
  let watcher
  const say = (session, text) =>
    client.session.prompt({ path: { id: session }, body: { parts: [{ type: "text", text, synthetic: true }] } })
  const base = (session) => ({ session_id: session, cwd: directory })

  return {
    config: async (config) => {
      if (!mcp) return
      config.mcp ??= {}
      config.mcp.githandoff ??= { type: "local", command: [program, "mcp"] }
    },

    dispose: async () => {
      watcher?.kill()
    },

    event: async ({ event }) => {
      const p = event.properties ?? {}
      if (event.type === "session.created" && p.info?.parentID) children.add(p.info.id)
      if (event.type !== "session.idle" || children.has(p.sessionID) || reminded.has(p.sessionID)) return
      const answer = await ask("Stop", base(p.sessionID), directory)
      if (answer.decision !== "block") return
      reminded.add(p.sessionID)
      await say(p.sessionID, answer.reason)
    },

    "chat.message": async (input, output) => {
      if (children.has(input.sessionID)) return
      const event = told.has(input.sessionID) ? "UserPromptSubmit" : "SessionStart"
      told.add(input.sessionID)
      if (wake && !watcher) {
        watcher = watch(input.sessionID, directory, (line) => say(input.sessionID, line).catch(() => {}))
      }
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
