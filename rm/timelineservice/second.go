package timelineservice

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/sirupsen/logrus"

	"heddle/rm/ledger"
	"heddle/rm/timelineservice/writer"
	"heddle/rm/view"
	"heddle/yarn/flow"
	"heddle/yarn/records"
)

// second returns a publisher to version 2.
func second(s *Settings, v *view.Viewer, w *writer.Writer, log *logrus.Entry) *Publisher {
	return &Publisher{
		log: log.WithField("timeline version", "2.0"), end: w.Close,
		encode: func(e entity, state *ledger.State) ([]byte, error) {
			if e.Type == containerType && !s.granted {
				return nil, nil
			}
			a := state.Apps[e.app]
			if a == nil {
				return nil, nil // forgotten meanwhile
			}
			about := writer.Entity{
				App: e.app, User: a.User, Last: a.State.Ended(),
				Flow: flow.Of(e.app, a.Context.GetApplicationName(), v.Tags(a.Context), a.SubmitTime),
			}
			return about.Encode(e.second())
		},
		send: func(ctx context.Context, batch [][]byte) (sent int, err error) {
			for ; sent < len(batch) && err == nil; sent++ {
				if err = w.Put(ctx, batch[sent]); err != nil {
					return sent, err
				}
			}
			return sent, nil
		},
	}
}

// second returns the entity as it is for version 2 (Hadoop: TimelineServiceV2Publisher): what is known of an end is about the entity there, and not about
// the event.
func (e entity) second() flow.Entity {
	happened := e.Events[0]
	out := flow.Entity{Type: e.Type, ID: e.ID, Prefix: e.place(), Info: info{}, Configs: map[string]string{}, Metrics: []flow.Metric{}, Events: []flow.Event{{ID: happened.Type, At: happened.At, Info: info{}}}}
	switch happened.Type {
	case "YARN_APPLICATION_CREATED":
		out.Created = happened.At
		maps.Copy(out.Info, e.Info)
		for _, key := range []string{"YARN_AM_NODE_LABEL_EXPRESSION", "YARN_APP_NODE_LABEL_EXPRESSION"} {
			out.Configs[key], _ = e.Info[key].(string)
			delete(out.Info, key)
		}
	case "YARN_APPLICATION_UPDATED":
		out.Events[0].Info = happened.Info
	case "YARN_APPLICATION_STATE_UPDATED":
		out.Events[0].Info = happened.Info
		maps.Copy(out.Info, happened.Info)
	case "YARN_APPLICATION_FINISHED":
		maps.Copy(out.Info, happened.Info)
		out.Metrics = append(metricsOf(e.Info, happened.At), metricsOf(e.more, happened.At)...)
	case "YARN_APPLICATION_ATTEMPT_FINISHED":
		for _, key := range []string{"DIAGNOSTICS_INFO", "FINAL_STATUS", "STATE"} {
			out.Info["YARN_APPLICATION_ATTEMPT_"+key] = happened.Info["YARN_APPLICATION_ATTEMPT_"+key]
		}
	case "YARN_CONTAINER_CREATED":
		maps.Copy(out.Info, e.Info)
		out.Created = happened.At
		out.Events[0].ID = "YARN_RM_CONTAINER_CREATED"
	case "YARN_CONTAINER_FINISHED":
		maps.Copy(out.Info, happened.Info)
		out.Info["YARN_CONTAINER_FINISHED_TIME"] = happened.At
		out.Events[0].ID = "YARN_RM_CONTAINER_FINISHED"
	default: // an attempt has registered, an application was launched, or its lists of users are known
		maps.Copy(out.Info, e.Info)
		maps.Copy(out.Info, happened.Info)
		maps.Copy(out.Info, e.more)
		if happened.Type == "YARN_APPLICATION_ATTEMPT_REGISTERED" {
			out.Created = happened.At
		}
	}
	return out
}

// place returns the place of an entity among others of its type: the newest come first.
func (e entity) place() int64 {
	switch e.Type {
	case attemptType:
		if id, err := records.ParseAttemptID(e.ID); err == nil {
			return math.MaxInt64 - int64(id.Attempt)
		}
	case containerType:
		if id, err := records.ParseContainerID(e.ID); err == nil {
			return math.MaxInt64 - id.ID
		}
	}
	return 0
}

// metricsOf returns figures as metrics.
func metricsOf(figures info, at int64) (out []flow.Metric) {
	for key, v := range figures {
		if n, ok := v.(int64); ok {
			out = append(out, flow.Metric{Type: "SINGLE_VALUE", ID: key, Aggregation: "NOP", Values: map[int64]int64{at: n}})
		}
	}
	slices.SortFunc(out, func(a, b flow.Metric) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
