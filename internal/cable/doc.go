// Package cable lays a cable to a network of its own, for tests of connections that are lost without a word.
package cable
