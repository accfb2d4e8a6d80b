package timelineservice

import (
	"encoding/json"

	"heddle/yarn/records"
)

// Types of entities.
const (
	appType       = "YARN_APPLICATION"
	attemptType   = "YARN_APPLICATION_ATTEMPT"
	containerType = "YARN_CONTAINER"
)

// info are keys and values of an entity or event.
type info map[string]any

// event is something that has happened to an entity (Hadoop: TimelineEvent).
type event struct {
	At   int64  `json:"timestamp"` // ms since 1970
	Type string `json:"eventtype"`
	Info info   `json:"eventinfo"`
}

// entity holds news of an application, attempt or container (Hadoop: TimelineEntity). The server joins all news of one.
type entity struct {
	Type    string              `json:"entitytype"`
	ID      string              `json:"entity"`
	Events  []event             `json:"events"`
	Filters map[string][]string `json:"primaryfilters"`
	Info    info                `json:"otherinfo"`

	app  records.ApplicationID // it is of
	task bool                  // it is a container, and not of an ApplicationMaster
	more info                  // for version 2: what it has there beside Info and the events'
}

func ofApp(id records.ApplicationID) entity { return entity{app: id, Type: appType, ID: id.String()} }

func ofAttempt(id records.AttemptID) entity {
	return entity{app: id.App, Type: attemptType, ID: id.String(), Filters: map[string][]string{"YARN_APPLICATION_ATTEMPT_PARENT": {id.App.String()}}}
}

func ofContainer(id records.ContainerID) entity {
	return entity{app: id.Attempt.App, Type: containerType, ID: id.String(), Filters: map[string][]string{"YARN_CONTAINER_PARENT": {id.Attempt.String()}}}
}

// at returns the entity with an event.
func (e entity) at(ms int64, kind string, about info) entity {
	if about == nil {
		about = info{}
	}
	e.Events = []event{{ms, kind, about}}
	return e
}

// encode returns the entity in the server's JSON.
func (e entity) encode() ([]byte, error) {
	if e.Info == nil {
		e.Info = info{}
	}
	return json.Marshal(e)
}
