// Package cable lays a cable to a network of its own, for tests of what happens when nobody says that a connection is gone.
package cable
