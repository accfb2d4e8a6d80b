// Package logplace names what a ResourceManager tells those who read logs: whose a container is, where it is or was, and whether the caller may see it.
package logplace

import (
	"errors"

	"heddle/yarn/records"
	"heddle/yarn/rest"
)

// Place describes an application or a container, as far as the ResourceManager knows it.
type Place struct {
	User  string // who asks
	Owner string // of the application
	Ended bool   // the application has
	Lives bool   // the container does
	Node  string // host:port where the container is or was; "": not known
	Web   string // URL of the node's web port; "": not known
}

// ErrForgotten says that the ResourceManager has no such application.
var ErrForgotten = errors.New("the ResourceManager has no such application, or has forgotten it")

// Finder is the ResourceManager. Refusals are errors of yarn/rest.
type Finder interface {
	// Container returns where a container is or was, if the caller may see its application.
	Container(c *rest.Call, id records.ContainerID) (Place, error)
	// App is Container for an application.
	App(c *rest.Call, id records.ApplicationID) (Place, error)
	// MayView reports whether the caller may see a forgotten application of an owner with an access control list.
	MayView(c *rest.Call, owner, viewers string) bool
}
