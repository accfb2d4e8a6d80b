package timelineservice

import (
	"cmp"
	"maps"
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/rm/view/past"
	"heddle/yarn/flow"
	"heddle/yarn/records"
)

// Wanted says which entities of an application are wanted.
type Wanted struct {
	Type    string
	ID      string // "": all
	Attempt string // of containers; "": any
	Limit   int    // the most
}

// Known returns what a ResourceManager knows of an application as entities of version 2: those that a reader has of what it publishes, in the order of their places.
func Known(v *view.Viewer, id records.ApplicationID, w Wanted) (list []flow.Entity) {
	f := &Follower{view: v, settings: &Settings{v1: true, all: true}}
	v.Source.Read(func(s *ledger.State) {
		a := s.Apps[id]
		switch {
		case a == nil:
		case w.Type == containerType:
			for _, x := range w.containers(a) {
				list = append(list, joined(f.life(x))...)
			}
		default:
			news := f.course(a)
			if a.State.Ended() {
				news = append(news, ended(a))
			}
			list = joined(news)
			list[0].Info["YARN_APPLICATION_STATE"] = a.State.Public().String() // which isn't published while it waits
		}
	})
	list = slices.DeleteFunc(list, func(e flow.Entity) bool {
		return e.Type != w.Type || w.ID != "" && e.ID != w.ID
	})
	slices.SortStableFunc(list, func(a, b flow.Entity) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return list[:min(len(list), w.Limit)]
}

// containers returns the wanted ones, the newest first: an application may have very many.
func (w *Wanted) containers(a *ledger.Application) (list []*ledger.Container) {
	for x := range past.Known(a) {
		if (w.ID == "" || w.ID == x.ID.String()) && (w.Attempt == "" || w.Attempt == x.ID.Attempt.String()) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *ledger.Container) int { return b.ID.Compare(a.ID) })
	return list[:min(len(list), w.Limit)]
}

// joined joins news of the same entity, in the order in which they come first.
func joined(news []entity) (list []flow.Entity) {
	at := map[string]int{}
	for _, e := range news {
		x := e.second()
		i, known := at[x.ID]
		if !known {
			at[x.ID], list = len(list), append(list, x)
			continue
		}
		to := &list[i]
		to.Created = cmp.Or(to.Created, x.Created)
		maps.Copy(to.Info, x.Info)
		maps.Copy(to.Configs, x.Configs)
		to.Metrics, to.Events = append(to.Metrics, x.Metrics...), append(to.Events, x.Events...)
	}
	for _, x := range list {
		if id, err := records.ParseContainerID(x.ID); err == nil && x.Type == containerType {
			x.Info["SYSTEM_INFO_PARENT_ENTITY"] = info{"type": attemptType, "id": id.Attempt.String()}
		}
		slices.SortStableFunc(x.Events, func(a, b flow.Event) int { return cmp.Compare(b.At, a.At) })
	}
	return list
}
