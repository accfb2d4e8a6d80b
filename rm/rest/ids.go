package rest

import (
	"errors"
	"strings"

	"heddle/rm/door"
	"heddle/rm/leader/refusal"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// The errors of these three are those of Hadoop's fromString.

func applicationID(text string) (records.ApplicationID, error) {
	id, err := records.ParseApplicationID(text)
	switch {
	case err == nil:
		return id, nil
	case !strings.HasPrefix(text, "application_"):
		return id, yarnrest.BadRequestBy(yarnrest.IllegalArgument,
			"Invalid ApplicationId prefix: %s. The valid ApplicationId should start with prefix application", text)
	}
	return id, yarnrest.BadRequestBy(yarnrest.IllegalArgument, "Invalid ApplicationId: %s", text)
}

func attemptID(text string) (records.AttemptID, error) {
	id, err := records.ParseAttemptID(text)
	switch {
	case err == nil:
		return id, nil
	case !strings.HasPrefix(text, "appattempt_"):
		return id, yarnrest.BadRequestBy(yarnrest.IllegalArgument, "Invalid AppAttemptId prefix: %s", text)
	}
	return id, yarnrest.BadRequestBy(yarnrest.IllegalArgument, "Invalid AppAttemptId: %s", text)
}

func containerID(text string) (records.ContainerID, error) {
	id, err := records.ParseContainerID(text)
	switch {
	case err == nil:
		return id, nil
	case !strings.HasPrefix(text, "container_"):
		return id, yarnrest.BadRequestBy(yarnrest.IllegalArgument, "Invalid ContainerId prefix: %s", text)
	}
	return id, yarnrest.BadRequestBy(yarnrest.IllegalArgument, "Invalid ContainerId: %s", text)
}

// findApp finds the application in the path.
func (s *server) findApp(c *yarnrest.Call) (view.App, error) {
	id, err := applicationID(c.Var("app"))
	if err != nil {
		return view.App{}, err
	}
	a, ok := s.View.App(id)
	if !ok {
		return a, s.absent(yarnrest.NotFound("app with id: %s not found", c.Var("app")))
	}
	return a, nil
}

// refusalReply turns the leader's refusals into replies. Other errors pass unchanged.
func refusalReply(err error) error {
	var absent *door.Absent
	if errors.As(err, &absent) {
		return yarnrest.NotFound("app with id: %v not found", absent.App)
	}
	var e *refusal.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Reason {
	case refusal.NoSuchApplication:
		return yarnrest.NotFoundBy(yarnrest.ApplicationNotFound, "%s", e.Text)
	case refusal.NoSuchAttempt:
		return yarnrest.NotFoundBy(yarnrest.ApplicationAttemptAbsent, "%s", e.Text)
	case refusal.NoSuchContainer:
		return yarnrest.NotFoundBy(yarnrest.ContainerNotFound, "%s", e.Text)
	case refusal.AccessDenied:
		return yarnrest.BadRequest("org.apache.hadoop.security.AccessControlException: %s", e.Text)
	case refusal.NoSpace:
		return yarnrest.Retriable("%s", e.Text)
	case refusal.InvalidTag:
		return yarnrest.BadRequest("%s: %s", yarnrest.IllegalArgument, e.Text)
	}
	return yarnrest.BadRequest("%s", e.Text)
}
