package rest

import (
	"net/http"

	"heddle/rm/rest/submission"
	yarnrest "heddle/yarn/rest"
)

type newApplication struct {
	ID      string       `yarn:"application-id"`
	Maximum resourceInfo `yarn:"maximum-resource-capability"`
}

func (s *server) newApplication(c *yarnrest.Call) (yarnrest.Reply, error) {
	if err := noCaller(c); err != nil {
		return yarnrest.Reply{}, err
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	id, maximum, err := l.NewApplication(caller(c))
	if err != nil {
		return yarnrest.Reply{}, refusalReply(err)
	}
	return yarnrest.OK("NewApplication", yarnrest.Unwrapped, newApplication{id.String(), s.resource(maximum)}), nil
}

func (s *server) submit(c *yarnrest.Call) (yarnrest.Reply, error) {
	given := submission.New()
	if err := c.Decode(yarnrest.Target{Root: "application-submission-context", Value: &given}); err != nil {
		return yarnrest.Reply{}, err
	}
	if err := noCaller(c); err != nil {
		return yarnrest.Reply{}, err
	}
	if !s.Conf.Bool("yarn.webapp.enable-rest-app-submissions") {
		return yarnrest.Say(http.StatusForbidden, "App submission via REST is disabled."), nil
	}
	ctx, err := given.Context(s.Types, s.MaxAllocation)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if err := s.Door.Submit(l, s.visits.Caller(c), ctx); err != nil {
		return yarnrest.Reply{}, refusalReply(err)
	}
	return yarnrest.Reply{
		Status: http.StatusAccepted, Location: c.Self() + clusterBase + "/apps/" + given.ID,
	}, nil
}
