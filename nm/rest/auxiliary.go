package rest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"heddle/nm/auxservices"
	"heddle/yarn/rest"
)

type auxService struct {
	Name    string  `yarn:"name"`
	Version *string `yarn:"version,omitempty"`
	Started string  `yarn:"startTime"`
}

type auxList struct {
	Services []auxService `yarn:"service"`
}

func auxRefusal(err error) error {
	if errors.Is(err, auxservices.ErrNotEnabled) {
		return rest.BadRequest("Auxiliary services manifest is not enabled")
	}
	return err
}

// auxiliary lists the auxiliary services of a manifest.
func (s *Server) auxiliary(*rest.Call) (rest.Reply, error) {
	running, err := s.Aux.List()
	if err != nil {
		return rest.Reply{}, auxRefusal(err)
	}
	var out auxList
	for _, r := range running {
		out.Services = append(out.Services, auxService{r.Name, r.Version, r.Since.Format("2006-01-02 15:04:05")})
	}
	return rest.OK("services", rest.Natural, out), nil
}

// putAuxiliary replaces the auxiliary services by those of a list. Unlike other changes, these need an administrator without yarn.acl.enable, too, as in Hadoop: a caller that
// loads classes has the rights of the JVM's account.
func putAuxiliary(s *Server) rest.Handler {
	return func(c *rest.Call) (rest.Reply, error) {
		body, err := c.Body()
		if err != nil {
			return rest.Reply{}, err
		}
		list, err := auxservices.Decode(body)
		switch {
		case len(body) > auxservices.MaxList:
			return rest.Reply{}, &rest.Error{
				Status: http.StatusRequestEntityTooLarge, Class: rest.WebApplicationException,
				Message: fmt.Sprintf("a list of auxiliary services has at most %d bytes", auxservices.MaxList),
			}
		case err != nil: // as in Hadoop, before anything else is looked at
			return rest.Reply{}, &rest.Error{
				Status: http.StatusNotFound,
				Class:  "com.fasterxml.jackson.core.JsonParseException", Message: err.Error(),
			}
		case !s.Aux.Changes():
			return rest.Reply{}, auxRefusal(auxservices.ErrNotEnabled)
		case !s.Access.administers(caller(c.Request)):
			return rest.Reply{Status: http.StatusForbidden}, nil
		case string(bytes.TrimSpace(body)) == "null":
			return rest.Reply{Status: http.StatusBadRequest}, nil
		}
		s.Log.Infof("%s changes the auxiliary services: %s", caller(c.Request), auxservices.Names(list))
		if err := s.Aux.Change(c.Context(), list); err != nil {
			return rest.Reply{}, &rest.Error{
				Status: http.StatusInternalServerError, Class: rest.YarnRuntimeException,
				Message: err.Error(),
			}
		}
		return rest.Reply{Status: http.StatusOK}, nil
	}
}
