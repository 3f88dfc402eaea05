/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_PROTO_BUS_H
#define SUPERVISORD_PROTO_BUS_H

/* Names on the control socket (an sd-bus peer connection, runtime/control, mode 0600).
 *
 * Payloads are strict JSON in one string argument; every method answers one string argument.
 *
 * Interface BUS_CONTROL, for people's programs (agentctl, agent-tui):
 *   Status()              {"version","pid","started_usec","sessions","pending","log":{...}}
 *   Sessions()            array of session objects
 *   Requests()            array of pending request objects (the array of `agentctl pending --json`)
 *   Decide({"id","decision":"allow"|"deny","duration","span_usec"?,"scope","fingerprint","note"?,
 *           "client"})    {"outcome":"allowed"|"denied","index":N}; after the record is durable
 *   Why({"session"?,"pid"?,"last"?})  array of the latest denials, newest first
 *   Grants()              array of grants in force
 *   Stop({"session","reason"})  {"outcome":"stopping"}
 *   Shutdown({})          {"outcome":"stopping"}; refused while sessions run unless "force":true
 *   signals RequestAdded(s request), RequestChanged(s {"id","count"}),
 *           RequestClosed(s {"id","outcome","by"}), SessionAdded(s session),
 *           SessionRemoved(s {"id","reason"})
 *
 * Interface BUS_BROKER, for the broker of one session; one Register for each connection, from a
 * process that the daemon then treats as that session's broker:
 *   Register({"spec":{...},"plan_digest","policy_digest","pid"?,
 *             "resume"?:{"session","index","grants"?}})  {"session":"ID","index":N,"last_n":N}
 *                         resume: the same process takes its session up again
 *   Ask({"ask":serial,"request":{...},"rule":{...},"policy_digest","timeout_usec"})
 *                         answered when decided:
 *                         {"decision":"allow"|"deny","outcome":"allowed"|"denied"|"timeout"|...,
 *                          "grant"?:{...},"note"?}
 *   Withdraw({"ask":serial})  {}
 *   Record({"records":[...],"gated":bool})  {"index":N}; durable before the answer, gated = soon.
 *                         Each record has "type" and the session's next serial "n"; what the log
 *                         has already is dropped
 *   End({"status":...})   {"index":N}
 *   signals to the broker: SessionStop(s reason), GrantRevoked(s id) */

#define BUS_PATH "/org/agentsupervisor/Supervisor1"
#define BUS_CONTROL "org.agentsupervisor.Control1"
#define BUS_BROKER "org.agentsupervisor.Broker1"

#define BUS_ERROR "org.agentsupervisor.Supervisor1.Error."
#define BUS_ERROR_STALE BUS_ERROR "Stale"                  /* fingerprint or policy changed */
#define BUS_ERROR_NOT_OFFERED BUS_ERROR "NotOffered"       /* duration or scope not in the rule */
#define BUS_ERROR_NOT_AUTHORIZED BUS_ERROR "NotAuthorized" /* another user, or not a broker */
#define BUS_ERROR_SELF_APPROVAL BUS_ERROR "SelfApproval"   /* the caller is inside a session */
#define BUS_ERROR_CLOSED BUS_ERROR "Closed"                /* decided, withdrawn or unknown id */
#define BUS_ERROR_AMBIGUOUS BUS_ERROR "Ambiguous"          /* an id prefix that fits several */
#define BUS_ERROR_INVALID BUS_ERROR "InvalidArgument"
#define BUS_ERROR_LOG BUS_ERROR "LogUnavailable" /* the audit log cannot persist */
#define BUS_ERROR_BUSY BUS_ERROR "Busy"

#define BUS_MESSAGE_MAX (8 * 1024 * 1024) /* bytes of one payload */

#endif
