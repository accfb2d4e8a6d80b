package container

import (
	"heddle/nm/allocation"
	"heddle/nm/application"
	"heddle/nm/workdir"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// firstOf returns what a container brings of its application.
func firstOf(g allocation.Grant, lc *pb.ContainerLaunchContext) application.First {
	return application.First{ID: g.ID.Attempt.App, User: g.User, Launch: lc, LogContext: g.LogContext}
}

// Applications returns the applications that are on this node, by id.
func (m *Manager) Applications() []application.Info { return m.apps.All() }

// Application returns an application that is on this node; found is false when it is not, or not any more.
func (m *Manager) Application(id records.ApplicationID) (app application.Info, found bool) {
	return m.apps.Get(id)
}

// FinishApplication ends an application on this node: containers that are left are killed, its logs are dealt with, its
// folders deleted. That continues in the background. An application that is not here is no error.
func (m *Manager) FinishApplication(id records.ApplicationID, why string) { m.apps.Finish(id, why) }

// removePrivate deletes what only the NodeManager may see of an application.
func (m *Manager) removePrivate(app records.ApplicationID) error {
	var private []string
	for _, local := range m.Disks.Local.Readable() {
		private = append(private, workdir.PrivateApp(local, app))
	}
	return m.Deleter.DeleteNow(private...)
}

// gone drops an application's containers: they will not be asked for any more.
func (m *Manager) gone(app records.ApplicationID) {
	var ids []records.ContainerID
	for _, c := range m.Containers() {
		if c.ID().Attempt.App == app {
			ids = append(ids, c.ID())
		}
	}
	m.Forget(ids...)
	m.changed()
}
