// Package policy reads a team's rules: which kinds of work an agent takes and
// makes, which skills it has to use, and which agent goes on when one is stuck. A
// policy only refuses or suggests. It gives nobody a right, and nothing in it
// is run or fetched.
//
// # Format
//
// A policy is the file .githandoff.yaml at the top of a commit: YAML 1.2 in
// UTF-8, one document, at most 65,536 bytes. An empty one says nothing.
//
//	agents:                          # all members are optional
//	  auto-code:                     # an agent's name
//	    accepts: [specification]     # the values of target.request that it takes
//	    produces: [code, tests]      # and those that it hands over
//	    skills: [writing-tests]      # what it must have invoked each time
//	routes:
//	  - {agent: auto-code, reason: security_concern, to: ciso}
//	  - {agent: ciso, reason: unclear, to: auto-code, clarify: true}
//	  - {agent: "*", reason: unknown, to: human}
//
// An absent "accepts" or "produces" says nothing; an empty list allows nothing. An unlisted
// agent may take and make anything.
//
// A route says who goes on when an agent is blocked for a reason. "*" stands for every agent
// or every reason. The most specific matching route counts, in this order: agent and reason
// named, agent named, reason named, none named; two for the same agent and reason are refused.
// "human", and no match at all, leave the decision to a person. "clarify" asks the agent to
// explain, not to take the work over.
//
// Kinds of work, reasons and skills are words: 1 to 128 printable ASCII
// characters without comma, quotation marks, backslash or "://", and no space
// at either end.
//
// Everything else is refused and named, with its line: unknown members, members given
// twice, other types, anchors, aliases, merge keys, tags and a second document. So a
// reviewer sees every rule that counts.
package policy
