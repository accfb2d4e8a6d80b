package past

import (
	"context"
	"errors"
	"io"
	"net/http"

	"heddle/nm/logs"
	"heddle/nm/logs/part"
	"heddle/yarn/records"
	"heddle/yarn/rest"
	"heddle/yarn/rest/daemon"
	"heddle/yarn/rest/logplace"
)

// wanted finds the container in the path, and where it is or was. The parameter node names another place.
func (l *Logs) wanted(c *rest.Call) (id records.ContainerID, p logplace.Place, err error) {
	if id, err = records.ParseContainerID(c.Var("container")); err != nil {
		return id, p, rest.BadRequest("invalid container id, %.100s", c.Var("container"))
	}
	p, err = l.find.Container(c, id)
	if p, err = l.viewable(c, id.Attempt.App, p, err); err != nil {
		return id, p, err
	}
	if node := c.Query().Get("node"); node != "" {
		p.Node = node
	}
	return id, p, nil
}

type logsInfos struct {
	Infos []containerLogs `yarn:"containerLogsInfo"`
	Lives bool            `yarn:"running"` // the container is
	More  bool            `yarn:"more"`
}

// list lists a container's logs: those on its node while the application lives, and those that were aggregated.
func (l *Logs) list(c *rest.Call) (rest.Reply, error) {
	id, p, err := l.wanted(c)
	if err != nil {
		return rest.Reply{}, err
	}
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	out := logsInfos{Lives: p.Lives}
	var there error
	if !p.Ended {
		var local containerLogs
		if local, there = l.listOnNode(ctx, id, p); there == nil {
			out.Infos = append(out.Infos, local)
		}
	}
	if p.Ended || there != nil {
		leave, err := l.turns.enter(ctx, p.User)
		if err != nil {
			return rest.Reply{}, err
		}
		defer leave()
		files, err := l.files(ctx, id.Attempt.App, p.Owner, p.Node)
		if err != nil {
			return rest.Reply{}, err
		}
		found, more, err := l.within(ctx, files, func(container string) bool { return container == id.String() })
		if err != nil {
			return rest.Reply{}, l.unreadable(id.Attempt.App, err)
		}
		out.Infos, out.More = append(out.Infos, found...), more
	}
	if len(out.Infos) == 0 {
		return rest.Reply{}, orElse(there, rest.NotFound("%s", noneOf(id, p)))
	}
	return rest.OK("logs", rest.Natural, out), nil
}

func orElse(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// noneOf says that there are no logs of a container, and why that may be.
func noneOf(id records.ContainerID, p logplace.Place) string {
	if !p.Ended {
		return "there are no logs of " + id.String() + " yet"
	}
	return "there are no aggregated logs of " + id.String() + ": it may have written none, its node may still be collecting them, or log aggregation is off (yarn.log-aggregation-enable)"
}

// file shows a log: a part of it (start, end, find, download), or YARN's text form.
func (l *Logs) file(c *rest.Call) (rest.Reply, error) {
	id, p, err := l.wanted(c)
	if err != nil {
		return rest.Reply{}, err
	}
	want, parts, err := part.Parse(c.Query())
	if err != nil {
		return rest.Reply{}, err
	}
	if !parts {
		want = part.Wanted{}
	}
	size, err := sizeOf(c)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{Serve: func(w http.ResponseWriter, r *http.Request) {
		err := l.serve(w, r, c, id, p, func(log logs.AggregatedLog, content io.Reader) error {
			if parts {
				return part.Serve(w, r, want, part.Log{Name: log.Name, Length: log.Length, Content: content})
			}
			daemon.Quarantine(w.Header())
			w.Header().Set("Content-Type", rest.TextType)
			if err := log.WriteText(part.Patient(w), content, size); err != nil {
				rest.Abort(w)
			}
			return nil
		})
		if err != nil {
			refuse(w, err)
		}
	}}, nil
}

// refuse answers with an error as text, the only format of logs.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	var e *rest.Error
	if errors.As(err, &e) {
		status = e.Status
	}
	daemon.Quarantine(w.Header())
	w.Header().Set("Content-Type", rest.TextType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, err.Error())
}

// serve finds a log, on its node or among the aggregated ones, and shows it.
func (l *Logs) serve(w http.ResponseWriter, r *http.Request, c *rest.Call, id records.ContainerID, p logplace.Place, show func(logs.AggregatedLog, io.Reader) error) error {
	leave, err := l.turns.enter(r.Context(), p.User)
	if err != nil {
		return err
	}
	defer leave()
	name := c.Var("file")
	var there error
	if !p.Ended {
		var done bool
		if done, there = l.fromNode(w, r, id, name, p); done {
			return nil
		}
	}
	files, err := l.files(r.Context(), id.Attempt.App, p.Owner, p.Node)
	if err != nil {
		return err
	}
	errShown := errors.New("shown")
	for _, f := range files {
		err := f.each(r.Context(), func(log logs.AggregatedLog, content io.Reader) error {
			if log.Container != id.String() || log.Name != name {
				return r.Context().Err()
			}
			if err := show(log, content); err != nil {
				return err
			}
			return errShown
		})
		var e *rest.Error
		switch {
		case errors.Is(err, errShown):
			return nil
		case errors.As(err, &e):
			return err
		case err != nil:
			return l.unreadable(id.Attempt.App, err)
		}
	}
	return orElse(there, rest.NotFound("%s has no log %s", id, name))
}
