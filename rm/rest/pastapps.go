package rest

import (
	"iter"

	"heddle/rm/rest/apphistory"
	"heddle/rm/rest/timelinereader"
	"heddle/rm/view"
	yarnrest "heddle/yarn/rest"
)

// routeHistory adds the paths of YARN's timeline server and of the reader of version 2 that tell of ended applications.
func (s *server) routeHistory(api *yarnrest.API) {
	apphistory.Route(api, apphistory.Config{
		View: s.View, Types: s.Types, App: s.findVisible, Attempt: s.findAttempt, Container: s.namedContainer,
		Apps: func(c *yarnrest.Call) (iter.Seq[*view.App], error) {
			f, _, err := s.appFilter(c)
			return func(yield func(*view.App) bool) {
				for a := range s.View.Each(f, s.View.AddDiagnostics) {
					if s.Access.MayView(caller(c), a.Rights()) && !yield(a) || c.Context().Err() != nil {
						return
					}
				}
			}, err
		},
	})
	timelinereader.Route(api, timelinereader.Config{View: s.View, App: s.findVisible})
}
