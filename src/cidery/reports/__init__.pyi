from .page import STATIC as STATIC
from .page_data import list_numbers as list_numbers
from .report import Report as Report
from .report import write_report as write_report
