// Package application holds the applications that have, or had, containers on a node.
//
// A Set is told of the containers that come (Open, Add) and have ended (Remove), and of applications that the ResourceManager says
// are over (Finish). It makes an application's folders before its first container starts (Ready), and cleans up once the last one
// has ended: folders, services that run beside containers, logs. Each step is that of a Hadoop NodeManager:
//
//	NEW → INITING → RUNNING → FINISHING_CONTAINERS_WAIT → APPLICATION_RESOURCES_CLEANINGUP → FINISHED
//
// What has to survive a restart is in the store before Open's caller goes on: Recover reads it, and Resume goes on with what was
// under way.
package application
