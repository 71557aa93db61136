// Package alert warns accounts whose daily credits run low: at 75, 90 and 100 %
// of what their plan allows, by mail, or in the log where no mail server is set.
//
// Every server looks at what the store says was spent. Which of them sends an alert is
// settled in the store (nodegate.AlertStore), so each is sent once for an account and a
// day, however many servers run and however often they are started again. A claim that
// its server didn't keep passes to another server when its lease ends. An account that passes
// several marks between two looks gets the alert for the highest.
package alert
