package eventlog

import (
	"strconv"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// encoder writes events as encoding/json does, several times as fast: the leader pays for each grant. What is rare it leaves to encoding/json.
type encoder struct {
	b     []byte
	comma bool
	rare  bool // something that it leaves to encoding/json
}

// line appends an event with its line's end to lines; ok is false if encoding/json must write it. Events that come with each grant write the members of
// their kind without asking for all others.
func (e *encoder) line(lines []byte, r *Event) (more []byte, ok bool) {
	e.begin(lines, r.Op)
	switch r.Op {
	case UpdateAsks:
		e.number("app", int64(r.App))
		e.asks(r.Asks)
	case Identify:
		e.flag("am", r.AM)
		e.number("attempt", int64(r.Attempt))
		e.number("first", r.First)
		e.handles(r.Containers)
	case Free:
		e.number("container", int64(r.Container))
		e.flag("failed", r.Failed)
	default:
		e.members(r)
	}
	return e.end()
}

// members writes the members that any kind of event has.
func (e *encoder) members(r *Event) {
	e.rare = r.Queues != nil || r.Ability != nil || r.Tasks != nil || r.Part != 0 || r.Attributes != nil
	e.number("t", r.Time)
	e.number("node", int64(r.Node))
	e.number("app", int64(r.App))
	e.number("container", int64(r.Container))
	e.text("name", r.Name, false)
	e.text("host", r.Host, false)
	e.text("rack", r.Rack, false)
	e.text("queue", r.Queue, false)
	e.text("user", r.User, false)
	e.text("type", r.Type, false)
	e.text("label", r.Label, false)
	e.number("priority", int64(r.Priority))
	e.number("seq", r.Seq)
	e.flag("open", r.Open)
	e.number("work", int64(r.Work))
	e.flag("am", r.AM)
	e.flag("never", r.Never)
	e.number("attempt", int64(r.Attempt))
	e.number("first", r.First)
	e.number("since", r.Since)
	e.amounts("resource", &r.Resource)
	e.asks(r.Asks)
	e.texts("add", r.Add)
	e.texts("remove", r.Remove)
	e.decisions(r.Decisions)
	e.handles(r.Containers)
	e.flag("forced", r.Forced)
	e.number("times", int64(r.Times))
	e.number("total", r.Total)
	e.flag("failed", r.Failed)
	e.number("maps", r.Maps)
	e.number("task", int64(r.Task))
	e.number("request", r.Request)
	e.number("bytes", r.Bytes)
}

func (e *encoder) begin(lines []byte, op Op) {
	e.b, e.rare, e.comma = append(append(append(lines, `{"op":"`...), op...), '"'), false, true
}

func (e *encoder) end() (lines []byte, ok bool) {
	lines, e.b = append(e.b, '}', '\n'), nil
	return lines, !e.rare
}

// step appends a call to Step as line does, without an Event in between.
func (e *encoder) step(lines []byte, now int64, decisions []drive.Decision) (more []byte, ok bool) {
	e.begin(lines, Step)
	e.number("t", now)
	if len(decisions) > 0 {
		e.key("decisions")
		e.b = append(e.b, '[')
		for i := range decisions {
			if i > 0 {
				e.b = append(e.b, ',')
			}
			d := &decisions[i]
			if d.Reason != "" || d.For != "" {
				return lines, false
			}
			e.decision(kindName(d.Kind), int64(d.App), int64(d.Container), int64(d.Node), int64(d.Priority), d.AllocationRequestID, int64(d.ExecutionType), int64(d.Locality))
			e.resource(&d.Resource)
			e.b = append(e.b, ']')
		}
		e.b = append(e.b, ']')
	}
	return e.end()
}

// decision begins a decision in its short form.
func (e *encoder) decision(kind string, values ...int64) {
	e.b = append(append(append(e.b, '[', '"'), kind...), '"')
	for _, v := range values {
		e.b = strconv.AppendInt(append(e.b, ','), v, 10)
	}
}

// resource continues it with amounts, without trailing zeros.
func (e *encoder) resource(r *records.Resource) {
	for _, v := range r[:used(r)] {
		e.b = strconv.AppendInt(append(e.b, ','), v, 10)
	}
}

// key begins a member.
func (e *encoder) key(name string) {
	if e.comma {
		e.b = append(e.b, ',')
	}
	e.comma = true
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

func (e *encoder) number(name string, n int64) {
	if n != 0 {
		e.key(name)
		e.b = strconv.AppendInt(e.b, n, 10)
	}
}

func (e *encoder) flag(name string, is bool) {
	if is {
		e.key(name)
		e.b = append(e.b, "true"...)
	}
}

// text writes a text without anything to escape.
func (e *encoder) text(name, s string, always bool) {
	if s != "" || always {
		e.key(name)
		e.quote(s)
	}
}

func (e *encoder) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			e.rare = true
		}
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, s...)
	e.b = append(e.b, '"')
}

// list writes a member that is a list, if it isn't empty.
func (e *encoder) list(name string, n int, element func(int)) {
	if n == 0 {
		return
	}
	e.key(name)
	e.b = append(e.b, '[')
	for i := range n {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		element(i)
	}
	e.b = append(e.b, ']')
	e.comma = true
}

func (e *encoder) amounts(name string, a *Amounts) {
	e.list(name, used((*records.Resource)(a)), func(i int) { e.b = strconv.AppendInt(e.b, a[i], 10) })
}

func (e *encoder) texts(name string, list []string) {
	e.list(name, len(list), func(i int) { e.quote(list[i]) })
}

func (e *encoder) handles(list []scheduler.ContainerHandle) {
	e.list("containers", len(list), func(i int) { e.b = strconv.AppendInt(e.b, int64(list[i]), 10) })
}

// object writes an object.
func (e *encoder) object(members func()) {
	e.b = append(e.b, '{')
	e.comma = false
	members()
	e.b = append(e.b, '}')
}

func (e *encoder) asks(asks Asks) {
	e.list("asks", len(asks), func(i int) {
		a := &asks[i]
		e.b, e.comma = append(e.b, '{'), false
		e.number("priority", int64(a.Priority))
		e.number("id", a.AllocationRequestID)
		e.text("name", a.Name, true)
		e.amounts("resource", (*Amounts)(&a.Capability))
		e.key("count")
		e.b = strconv.AppendInt(e.b, int64(a.Count), 10)
		e.flag("relax", a.RelaxLocality)
		e.number("execution", int64(a.ExecutionType))
		e.number("work", int64(a.Work))
		e.text("label", a.Label, false)
		e.flag("stays", a.Stays)
		e.rare = e.rare || a.Scheduling != nil
		e.b = append(e.b, '}')
	})
}

func (e *encoder) decisions(list []Decision) {
	e.list("decisions", len(list), func(i int) {
		d := &list[i]
		e.object(func() {
			e.text("kind", d.Kind, true)
			e.number("app", int64(d.App))
			e.number("container", int64(d.Container))
			e.number("node", int64(d.Node))
			e.amounts("resource", &d.Resource)
			e.number("priority", int64(d.Priority))
			e.number("id", d.ID)
			e.number("execution", int64(d.Execution))
			e.number("locality", int64(d.Locality))
			e.text("reason", d.Reason, false)
			e.text("for", d.For, false)
		})
	})
}
