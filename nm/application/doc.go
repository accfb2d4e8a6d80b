// Package application holds the applications that have, or had, containers on a node.
//
// Callers report containers that come (Open, Add) and end (Remove), and applications that the ResourceManager has ended
// (Finish). A Set makes an application's folders before its first container starts (Ready). It cleans up once the last
// one has ended: folders, services that run beside containers, logs. The states are those of a Hadoop NodeManager:
//
//	NEW → INITING → RUNNING → FINISHING_CONTAINERS_WAIT → APPLICATION_RESOURCES_CLEANINGUP → FINISHED
//
// Whatever must survive a restart is in the store before Open's caller continues. Recover reads it, and Resume
// continues what was under way.
package application
