"""Reports: one page that holds everything about a study, a privatized file or a training run."""

from sfumato.reports.write import write_report as write_report
