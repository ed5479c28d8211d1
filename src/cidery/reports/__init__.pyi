from .writing import Report as Report
from .writing import write_report as write_report
