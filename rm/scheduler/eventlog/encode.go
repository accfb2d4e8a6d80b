package eventlog

import "strconv"

// encoder writes records as encoding/json does, several times as fast: the leader pays for each grant. What is rare it leaves to encoding/json.
type encoder struct {
	b     []byte
	comma bool
	rare  bool // something that it leaves to encoding/json
}

// line is a record with its line's end; ok is false if encoding/json must write it. It is good until the next call.
func (e *encoder) line(r *Record) (text []byte, ok bool) {
	if r.Queues != nil || r.Ability != nil || r.Tasks != nil || r.Part != 0 {
		return nil, false
	}
	e.b, e.rare, e.comma = append(e.b[:0], '{'), false, false
	e.text("op", string(r.Op), true)
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
	e.amounts("resource", r.Resource)
	e.asks(r.Asks)
	e.texts("add", r.Add)
	e.texts("remove", r.Remove)
	e.decisions(r.Decisions)
	e.containers(r)
	e.flag("forced", r.Forced)
	e.number("times", int64(r.Times))
	e.number("total", r.Total)
	e.flag("failed", r.Failed)
	e.number("maps", r.Maps)
	e.number("task", int64(r.Task))
	e.number("request", r.Request)
	e.number("bytes", r.Bytes)
	e.b = append(e.b, '}', '\n')
	return e.b, !e.rare
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

func (e *encoder) amounts(name string, a amounts) {
	e.list(name, len(a), func(i int) { e.b = strconv.AppendInt(e.b, a[i], 10) })
}

func (e *encoder) texts(name string, list []string) {
	e.list(name, len(list), func(i int) { e.quote(list[i]) })
}

func (e *encoder) containers(r *Record) {
	e.list("containers", len(r.Containers), func(i int) { e.b = strconv.AppendInt(e.b, int64(r.Containers[i]), 10) })
}

// object writes an object.
func (e *encoder) object(members func()) {
	e.b = append(e.b, '{')
	e.comma = false
	members()
	e.b = append(e.b, '}')
}

func (e *encoder) asks(asks []ask) {
	e.list("asks", len(asks), func(i int) {
		a := &asks[i]
		e.object(func() {
			e.number("priority", int64(a.Priority))
			e.number("id", a.ID)
			e.text("name", a.Name, true)
			e.amounts("resource", a.Resource)
			e.key("count")
			e.b = strconv.AppendInt(e.b, int64(a.Count), 10)
			e.flag("relax", a.Relax)
			e.number("execution", int64(a.Execution))
			e.number("work", int64(a.Work))
			e.text("label", a.Label, false)
			e.flag("stays", a.Stays)
		})
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
			e.amounts("resource", d.Resource)
			e.number("priority", int64(d.Priority))
			e.number("id", d.ID)
			e.number("execution", int64(d.Execution))
			e.number("locality", int64(d.Locality))
			e.text("reason", d.Reason, false)
			e.text("for", d.For, false)
		})
	})
}
